-- The query files are read as lines: the titles are keys in their ratings, and DuckDB's reader would make them columns.
CREATE MACRO queries(source, file) AS TABLE
  SELECT trim(replace(replace(line->>'original_query', '<mark>', ''), '</mark>', '')) AS category,
         line->>'$.metadata.template' AS template, line->>'$.metadata.domain' AS domain,
         CASE WHEN json_type(line, '$.docs') = 'ARRAY' THEN (line->'docs')::VARCHAR[]
              ELSE error(file || ', line ' || number || ' has no list of docs') END AS docs
  FROM (SELECT number,
               if(json_valid(line), line::JSON, error(file || ', line ' || number || ' is not valid JSON')) AS line
        FROM (SELECT line, row_number() OVER () AS number FROM query_table(source)) WHERE trim(line) <> '');
CREATE TABLE query AS
FROM queries('train', 'train.jsonl') UNION ALL FROM queries('validation', 'val.jsonl')
UNION ALL FROM queries('test', 'test.jsonl') UNION ALL FROM queries('films', 'prefiltered_films.jsonl')
UNION ALL FROM queries('books', 'prefiltered_books.jsonl');

-- Lists are text in CSV, and lists in JSON and Parquet. Wikipedia titles contain no bar.
CREATE MACRO as_list(value) AS
  CASE WHEN typeof(value) LIKE '%[]' THEN value::VARCHAR[] ELSE string_split(value::VARCHAR, '|') END;

CREATE TABLE membership AS
SELECT DISTINCT title, category FROM (
  SELECT unnest(docs) AS title, category FROM query WHERE template = '_'
  UNION ALL SELECT title::VARCHAR, trim(unnest(as_list(category))) FROM categories)
WHERE title <> '' AND category <> '';

-- A title is usually in queries of one domain; otherwise the alphabetically first one is used.
CREATE TABLE title_domain AS
SELECT title, min(domain) AS domain FROM (SELECT unnest(docs) AS title, domain FROM query) GROUP BY title;

CREATE TABLE named AS
SELECT title FROM membership UNION SELECT title FROM title_domain WHERE title <> '';

CREATE TABLE missing AS
SELECT title FROM named ANTI JOIN documents USING (title) WHERE getvariable('missing') = 'add';

CREATE TABLE category_names AS
SELECT category, min(domain) AS domain FROM (
  SELECT category, domain FROM query WHERE template = '_' AND category <> ''
  UNION ALL SELECT category, NULL FROM membership
  UNION ALL SELECT category::VARCHAR, NULL FROM subcategories
  UNION ALL SELECT subcategory::VARCHAR, NULL FROM subcategories)
GROUP BY category;

CREATE TABLE nodes AS
(SELECT 'document' AS type, title AS key, title AS name, domain
 FROM (SELECT title::VARCHAR AS title, row_number() OVER () AS place FROM documents)
 LEFT JOIN title_domain USING (title)
 ORDER BY place)
UNION ALL BY NAME (SELECT 'document' AS type, title AS key, title AS name, domain
                   FROM missing LEFT JOIN title_domain USING (title) ORDER BY title)
UNION ALL BY NAME (SELECT 'category' AS type, category AS key, category AS name, domain
                   FROM category_names ORDER BY category);

CREATE TABLE edges AS
(SELECT 'document' AS head_type, title AS head, 'in_category' AS relation, 'category' AS tail_type, category AS tail
 FROM membership WHERE getvariable('missing') = 'add' OR title IN (SELECT title FROM documents)
 ORDER BY title, category)
UNION ALL BY NAME
SELECT 'category' AS head_type, category::VARCHAR AS head, 'subcategory' AS relation,
       'category' AS tail_type, subcategory::VARCHAR AS tail
FROM subcategories;

CREATE TABLE texts AS SELECT 'document' AS type, title::VARCHAR AS key, text::VARCHAR AS text FROM documents;

CREATE TABLE candidate_types AS SELECT 'document' AS type;
