-- The readers provide node_info(key, value) and the two dictionaries with JSON values; edge_index(position, c0, c1),
-- edge_types(position, value) and node_types(position, value).

-- -1, "", NaN and None all mean that a value is missing.
CREATE MACRO known(value) AS nullif(nullif(trim(value), ''), '-1');
CREATE MACRO counted(value) AS nullif(value, -1);

-- The properties of nodes of all types, in one pass over the JSON. The order of node_info is not that of the numbers
-- in MAG. json_transform returns NULL for values of an unexpected type.
CREATE TABLE facts AS
SELECT TRY_CAST(key AS BIGINT) AS number, key, f.* FROM (
  SELECT key, json_transform(value, '{
    "type": "VARCHAR", "name": "VARCHAR", "source": "VARCHAR", "id": "VARCHAR", "details": "JSON",
    "DisplayName": "VARCHAR", "title": "VARCHAR", "abstract": "VARCHAR", "Date": "VARCHAR", "Year": "BIGINT",
    "mag_id": "BIGINT", "Level": "BIGINT", "DocType": "VARCHAR",
    "PaperCount": "BIGINT", "CitationCount": "BIGINT", "PaperCitationCount": "BIGINT", "OriginalVenue": "VARCHAR",
    "JournalDisplayName": "VARCHAR", "ConferenceSeriesDisplayName": "VARCHAR",
    "ConferenceInstancesDisplayName": "VARCHAR",
    "brand_name": "VARCHAR", "category_name": "VARCHAR", "color_name": "VARCHAR",
    "asin": "VARCHAR", "global_category": "VARCHAR", "price": "VARCHAR", "rank": "JSON",
    "description": "JSON", "feature": ["VARCHAR"],
    "review": [{"summary": "VARCHAR", "reviewText": "VARCHAR", "vote": "VARCHAR"}],
    "qa": [{"question": "VARCHAR", "answer": "VARCHAR"}]}') AS f
  FROM node_info);
DROP TABLE node_info;

-- Which KB it is: Amazon and Prime name their types, those of MAG are constants in STaRK's code. Any other KB, as
-- kbkit export writes it, has Prime's form: each node has its type, a name and details.
SET VARIABLE found = (
  SELECT CASE WHEN bool_or(name = 'gene/protein') THEN 'prime'
              WHEN count(*) > 0 AND EXISTS (FROM facts WHERE type IS NOT NULL) THEN 'other'
              WHEN bool_or(name = 'product') THEN 'amazon'
              WHEN count(*) = 0 AND EXISTS (FROM facts WHERE type IN ('author', 'paper')) THEN 'mag' END
  FROM (SELECT value::JSON->>'$' AS name FROM node_type_dict));
SELECT CASE WHEN getvariable('kb') NOT IN ('auto', getvariable('found'))
            THEN error('The files contain ' || getvariable('found') || ', but the option kb is ' || getvariable('kb'))
            WHEN coalesce(getvariable('found'), getvariable('kb')) = 'auto'
            THEN error('The files are not those of amazon, mag, prime or an export'
                       || CASE WHEN EXISTS (FROM node_type_dict) THEN ''
                               ELSE ': is node_type_dict.pkl missing?' END) END;
SET VARIABLE kb = coalesce(getvariable('found'), getvariable('kb'));
SET VARIABLE like_prime = getvariable('kb') IN ('prime', 'other');

CREATE TABLE type_names AS
SELECT TRY_CAST(key AS BIGINT) AS number, value::JSON->>'$' AS name FROM node_type_dict
UNION ALL SELECT * FROM (VALUES (0, 'author'), (1, 'institution'), (2, 'field_of_study'), (3, 'paper'))
WHERE getvariable('kb') = 'mag' AND NOT EXISTS (FROM node_type_dict);
CREATE TABLE relation_numbers AS
SELECT TRY_CAST(key AS BIGINT) AS number, value::JSON->>'$' AS name FROM edge_type_dict
UNION ALL SELECT * FROM (VALUES (0, 'affiliated_with'), (1, 'cites'), (2, 'has_topic'), (3, 'writes'))
WHERE getvariable('kb') = 'mag' AND NOT EXISTS (FROM edge_type_dict);

-- Files that do not match, or are corrupt.
CREATE MACRO refuse(condition, message) AS CASE WHEN condition THEN error(message) END;
SELECT refuse(edges <> types, 'edge_index holds ' || edges || ' edges and edge_types ' || types || ' types'),
       refuse(nodes <> typed, 'node_info holds ' || nodes || ' nodes and node_types ' || typed || ' types')
FROM (SELECT (SELECT count(*) FROM edge_index) AS edges, (SELECT count(*) FROM edge_types) AS types,
             (SELECT count(*) FROM facts) AS nodes, (SELECT count(*) FROM node_types) AS typed);
SELECT refuse(true, 'node_info has the key ' || key || ', and not a number from 0 to ' || last)
FROM facts, (SELECT count(*) - 1 AS last FROM facts) WHERE number IS NULL OR number NOT BETWEEN 0 AND last LIMIT 1;
SELECT refuse(true, 'node_type_dict has no type ' || value)
FROM node_types ANTI JOIN type_names ON value = number LIMIT 1;
SELECT refuse(true, 'edge_type_dict has no type ' || value)
FROM edge_types ANTI JOIN relation_numbers ON value = number LIMIT 1;

CREATE TABLE candidate_types AS
SELECT CASE getvariable('kb') WHEN 'amazon' THEN 'product' ELSE 'paper' END AS type WHERE NOT getvariable('like_prime');

-- Nodes. The price is the lower end if it is a range; a sales rank reads ">#1,234 in Sports (See ...)".
CREATE MACRO amount(text) AS TRY_CAST(replace(ltrim(split_part(text, ' - ', 1), '$ '), ',', '') AS DOUBLE);
CREATE MACRO rank_of(text) AS TRY_CAST(replace(trim(split_part(ltrim(text, '># '), 'in', 1)), ',', '') AS BIGINT);
CREATE MACRO first_of(value) AS CASE WHEN json_type(value) = 'ARRAY' THEN value->>'$[0]' ELSE value->>'$' END;
CREATE MACRO size_of(details) AS known(details->>'$.product_dimensions');
CREATE VIEW nodes AS
SELECT t.name AS type, key,
       coalesce(known(f.name), known(DisplayName), known(title), known(brand_name), known(category_name),
                known(color_name)) AS name,
       CASE WHEN t.name = 'gene/protein' THEN
         CASE WHEN json_type(details, '$.alias') = 'ARRAY' THEN details->>'$.alias[*]'
              WHEN known(details->>'$.alias') IS NOT NULL THEN [details->>'$.alias'] END
            WHEN getvariable('kb') = 'other' THEN details->>'$.aliases[*]' END AS aliases,
       CASE WHEN getvariable('like_prime') THEN known(f.id) END AS source_id, known(source) AS source,
       known(asin) AS asin, known(global_category) AS global_category, amount(price) AS price,
       rank_of(first_of(rank)) AS sales_rank,
       CASE WHEN t.name = 'product' THEN known(split_part(size_of(details), ' ; ', 1)) END AS dimensions,
       CASE WHEN t.name = 'product' THEN known(split_part(size_of(details), ' ; ', 2)) END AS weight,
       counted(mag_id) AS mag_id, TRY_CAST(Date AS DATE) AS date,
       coalesce(counted(Year), year(TRY_CAST(Date AS DATE))) AS year, known(DocType) AS document_type,
       known(OriginalVenue) AS venue, known(JournalDisplayName) AS journal,
       known(ConferenceSeriesDisplayName) AS conference_series, known(ConferenceInstancesDisplayName) AS conference,
       counted(PaperCount) AS paper_count, counted(coalesce(CitationCount, PaperCitationCount)) AS citation_count,
       counted("Level") AS level
FROM facts f JOIN node_types n ON n.position = f.number JOIN type_names t ON t.number = n.value
ORDER BY f.number;

-- Edges. STaRK's loader (SKB.__init__ in stark_qa/skb/knowledge_base.py) calls torch_geometric's
-- to_undirected(edge_index, edge_types, reduce='mean') unless edge_index alone, counted with repetitions, is symmetric
-- already, as Prime's is: then nothing changes, parallel edges stay. Otherwise every edge is added in the other
-- direction with the same type, and of the edges from one node to another one is left, whose type is the sum of theirs
-- over their count, cut off by .long(). (The division is torch's, in float32; with fewer than a million parallel edges
-- it never rounds up to the next whole number, so that integer division gives the same.) The type that comes out may
-- be one that none of the edges had.
CREATE VIEW typed_edges AS SELECT c0 AS head, c1 AS tail, value AS number FROM edge_index POSITIONAL JOIN edge_types;
CREATE TABLE pairs AS
SELECT head, tail, count(*) AS edges, sum(number)::BIGINT AS total FROM typed_edges
WHERE getvariable('compat') = 'yes' GROUP BY head, tail;
SET VARIABLE merge = EXISTS (
  FROM pairs a ANTI JOIN pairs b ON a.head = b.tail AND a.tail = b.head AND a.edges = b.edges);
CREATE VIEW edges AS
SELECT head::VARCHAR AS head, r.name AS relation, tail::VARCHAR AS tail FROM (
  FROM typed_edges WHERE NOT getvariable('merge')
  UNION ALL
  SELECT head, tail, (sum(total) // sum(edges))::BIGINT FROM (
    SELECT head, tail, edges, total FROM pairs UNION ALL SELECT tail, head, edges, total FROM pairs)
  WHERE getvariable('merge') GROUP BY head, tail
) e JOIN relation_numbers r USING (number);

-- Texts, one per field, as in STaRK's documents. Reviews with the most votes come first.
CREATE MACRO lines(parts) AS array_to_string(list_filter(parts, lambda part: known(part) IS NOT NULL), chr(10));
CREATE MACRO as_list(value) AS
  CASE WHEN json_type(value) = 'ARRAY' THEN value->>'$[*]' ELSE [value->>'$'] END;
CREATE MACRO votes(text) AS coalesce(TRY_CAST(replace(text, ',', '') AS DOUBLE), 0);
CREATE MACRO best(reviews) AS lines(list_transform(list_sort(list_transform(reviews, lambda r, i:
  {'votes': -votes(r.vote), 'place': i, 'text': concat_ws(': ', known(r.summary), known(r.reviewText))}))[:25],
  lambda r: r.text));
CREATE MACRO dialogue(qa) AS
  lines(list_transform(qa[:25], lambda q: concat_ws(' ', known(q.question), known(q.answer))));

-- Prime's nonempty details, without identifiers of other databases. Descriptions go to the field description, all
-- others to details, one per line: "half life: about four hours". Nested values are flattened to named leaves; notes and
-- domains of a gene are reduced to words, its positions to the first.
CREATE TABLE prime_details AS
SELECT f.key, d.key AS name, d.id AS place, d.value, d.type IN ('OBJECT', 'ARRAY') AS nested
FROM facts f, json_each(f.details) d
WHERE getvariable('like_prime') AND d.key IS NOT NULL AND d.key[1] <> '_' AND NOT contains(d.key, '_id')
  AND (d.key <> 'aliases' OR getvariable('kb') = 'prime')
  AND d.type <> 'NULL' AND (d.value->>'$') NOT IN ('', 'nan', '[]', '{}');
CREATE TABLE prime_leaves AS
SELECT d.key, d.name, d.place, t.id, t.value->>'$' AS text,
       CASE WHEN t.fullkey[-1] <> ']' AND d.name NOT IN ('generif', 'interpro') THEN t.key END AS label
FROM prime_details d, json_tree(d.value) t
WHERE d.nested AND t.type NOT IN ('OBJECT', 'ARRAY', 'NULL') AND known(t.value->>'$') IS NOT NULL
  AND CASE d.name WHEN 'generif' THEN t.key = 'text' WHEN 'interpro' THEN t.key = 'desc'
                  WHEN 'genomic_pos' THEN t.fullkey[2] <> '[' OR t.fullkey[:4] = '$[0]'
                  ELSE t.key NOT IN ('id', 'pubmed') AND t.key[1] <> '_' AND NOT contains(t.key, '_id') END;
CREATE VIEW prime_texts AS
SELECT key, CASE WHEN name IN ('description', 'summary') OR suffix(name, '_description') OR suffix(name, '_definition')
                 THEN 'description' ELSE 'details' END AS field, name, place, text
FROM (
  SELECT key, name, place, value->>'$' AS text FROM prime_details WHERE NOT nested
  UNION ALL
  SELECT key, name, place, CASE WHEN name IN ('generif', 'interpro') THEN string_agg(text, '; ' ORDER BY id)
                                ELSE string_agg(concat_ws(' ', label, text), ', ' ORDER BY id) END
  FROM prime_leaves GROUP BY key, name, place);

CREATE VIEW texts AS
FROM (
  SELECT key, unnest([
    {'field': 'description', 'text': lines(as_list(description))},
    {'field': 'features', 'text': lines(list_filter(feature, lambda f: NOT contains(lower(f), 'asin')))},
    {'field': 'reviews', 'text': best(review)},
    {'field': 'qa', 'text': dialogue(qa)},
    {'field': 'abstract', 'text': known(rtrim(replace(abstract, chr(13), ''), chr(10)))}], recursive := true)
  FROM facts WHERE NOT getvariable('like_prime') AND (asin IS NOT NULL OR abstract IS NOT NULL)
  UNION ALL
  SELECT key, field, string_agg(CASE WHEN field = 'details' THEN replace(name, '_', ' ') || ': ' ELSE '' END || text,
                                chr(10) ORDER BY place)
  FROM prime_texts GROUP BY key, field)
WHERE trim(text) <> '';
