CREATE TABLE triple AS
SELECT DISTINCT triple[1] AS head, trim(triple[2]) AS relation, triple[3] AS tail
FROM (SELECT if(len(triple) = 3, triple, error('Invalid triple: ' || triple::VARCHAR || '. Use [head, relation, tail]')) AS triple
      FROM (SELECT unnest(graph::VARCHAR[][]) AS triple FROM questions))
WHERE triple[1] <> '' AND triple[3] <> '';

CREATE TABLE nodes AS
SELECT 'entity' AS type, name AS key, name
FROM (SELECT head AS name FROM triple UNION SELECT tail FROM triple) ORDER BY name;

CREATE TABLE edges AS SELECT head, relation, tail FROM triple ORDER BY ALL;

-- people.person.nationality reads "nationality".
CREATE TABLE relation_names AS
SELECT DISTINCT relation, replace(regexp_extract(relation, '([^.]+)$', 1), '_', ' ') AS label FROM triple;
