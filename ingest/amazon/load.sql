-- Texts contain the markup of their web pages.
CREATE MACRO plain(value) AS
  trim(regexp_replace(
    replace(replace(replace(replace(replace(replace(
      regexp_replace(value, '(?s)<!--.*?-->|<(script|style)\b.*?</(script|style)>|<[a-zA-Z/!][^>]*>', '', 'gi'),
      '&nbsp;', ' '), '&#39;', ''''), '&quot;', '"'), '&lt;', '<'), '&gt;', '>'), '&amp;', '&'),
    '[\s\x{A0}]+', ' ', 'g'));
CREATE MACRO marked(value) AS  -- most texts have none, and cleaning is slow
  contains(value, '<') OR contains(value, '&') OR contains(value, '  ') OR contains(value, E'\n')
  OR contains(value, E'\t') OR contains(value, chr(160)) OR trim(value) <> value;
CREATE MACRO clean(value) AS nullif(CASE WHEN marked(value) THEN plain(value) ELSE value END, '');
-- A list of texts; a single text becomes a list of one.
CREATE MACRO texts_of(value) AS coalesce(TRY_CAST(value AS VARCHAR[]), [value ->> '$']);

CREATE TABLE meta_rows AS
SELECT place, json_valid(line) AS valid, unnest(json_transform(CASE WHEN json_valid(line) THEN line END, '{
  "asin": "VARCHAR", "title": "VARCHAR", "brand": "VARCHAR", "main_cat": "VARCHAR", "price": "VARCHAR",
  "rank": "VARCHAR", "category": "VARCHAR[]", "also_buy": "VARCHAR[]", "also_view": "VARCHAR[]",
  "feature": "JSON", "description": "JSON", "details": "MAP(VARCHAR, VARCHAR)"}'))
FROM (SELECT line, row_number() OVER () AS place FROM meta) WHERE trim(line) <> '';

CREATE TABLE review_rows AS
SELECT place, json_valid(line) AS valid, unnest(json_transform(CASE WHEN json_valid(line) THEN line END, '{
  "asin": "VARCHAR", "summary": "VARCHAR", "reviewText": "VARCHAR", "vote": "VARCHAR",
  "style": "MAP(VARCHAR, VARCHAR)"}'))
FROM (SELECT line, row_number() OVER () AS place FROM reviews) WHERE trim(line) <> '';

SELECT error(concat(file, ', line ', place, CASE WHEN valid THEN ' has no "asin"' ELSE ' is not valid JSON' END,
                    '; is the download whole?'))
FROM (SELECT 'meta' AS file, place, valid, asin FROM meta_rows
      UNION ALL SELECT 'reviews', place, valid, asin FROM review_rows)
WHERE asin IS NULL ORDER BY file, place LIMIT 1;

CREATE TABLE products AS
SELECT * FROM meta_rows
WHERE place IN (SELECT min(place) FROM meta_rows GROUP BY asin)
AND (getvariable('products') = 'all' OR asin IN (SELECT asin FROM review_rows));

-- Prefixes and suffixes that STaRK removes from brands, in its order.
CREATE MACRO before(value, sign) AS CASE WHEN starts_with(value, sign) THEN value[length(sign) + 1:] ELSE value END;
CREATE MACRO after(value, sign) AS CASE WHEN ends_with(value, sign) THEN value[:-length(sign) - 1] ELSE value END;
CREATE TABLE brands AS
SELECT asin, CASE WHEN length(brand) > 100 THEN string_split(brand, ' ')[1] ELSE brand END AS brand FROM (
  SELECT asin, before(after(before(trim(clean(brand), E' ".*+,-_!@#$%^&*();\\/|<>''\t\n\r'), 'by '), '.com'), 'www.')
         AS brand
  FROM products)
WHERE brand <> '';

CREATE TABLE product_categories AS
SELECT DISTINCT asin, lower(clean(category)) AS category FROM (SELECT asin, unnest(category) AS category FROM products)
WHERE clean(category) IS NOT NULL;
CREATE TABLE known_categories AS
SELECT DISTINCT lower(category) AS category FROM category_list
UNION
SELECT category FROM product_categories WHERE NOT EXISTS (FROM category_list)
GROUP BY category HAVING count(*) > getvariable('category_threshold')::BIGINT;

-- A style describes the purchase: {"Color:": " Red"}. STaRK uses colours of at least three letters and at most four words.
CREATE TABLE product_colors AS
SELECT DISTINCT asin, lower(trim(coalesce(TRY_CAST(TRY_CAST(value AS JSON) AS VARCHAR[])[1], value))) AS color FROM (
  SELECT asin, unnest(map_values(style)) AS value, unnest(map_keys(style)) AS what
  FROM review_rows SEMI JOIN products USING (asin) WHERE style IS NOT NULL)
WHERE what ILIKE '%color%';
CREATE TABLE known_colors AS
SELECT color FROM product_colors
WHERE length(color) > 2 AND len(string_split(color, ' ')) < 5 AND NOT regexp_full_match(color, '[0-9]+')
GROUP BY color HAVING count(*) > getvariable('color_threshold')::BIGINT;

CREATE TABLE nodes AS
SELECT 'product' AS type, asin AS key, clean(title) AS name,
       TRY_CAST(replace(regexp_extract(price, '^\$([0-9,]+(\.[0-9]+)?)$', 1), ',', '') AS DOUBLE) AS price,
       TRY_CAST(replace(regexp_extract(rank, '([0-9][0-9,]*) in ', 1), ',', '') AS BIGINT) AS sales_rank,
       clean(main_cat) AS department
FROM (FROM products ORDER BY place)
UNION ALL BY NAME (SELECT DISTINCT 'brand' AS type, brand AS key, brand AS name FROM brands ORDER BY brand)
UNION ALL BY NAME (SELECT DISTINCT 'category' AS type, category AS key, category AS name
                   FROM product_categories SEMI JOIN known_categories USING (category) ORDER BY category)
UNION ALL BY NAME (SELECT 'color' AS type, color AS key, color AS name FROM known_colors ORDER BY color);

CREATE TABLE edges AS
SELECT 'product' AS head_type, asin AS head, relation, tail_type, tail FROM (
  SELECT asin, 'also_buy' AS relation, 'product' AS tail_type, unnest(also_buy) AS tail FROM products
  UNION ALL SELECT asin, 'also_view', 'product', unnest(also_view) FROM products)
SEMI JOIN products known ON tail = known.asin
UNION ALL SELECT 'product', asin, 'has_brand', 'brand', brand FROM brands
UNION ALL SELECT 'product', asin, 'has_category', 'category', category
          FROM product_categories SEMI JOIN known_categories USING (category)
UNION ALL SELECT 'product', asin, 'has_color', 'color', color FROM product_colors SEMI JOIN known_colors USING (color);

-- Ranks positions only, because the texts are long.
CREATE TABLE best_reviews AS
SELECT place, asin, standing FROM (
  SELECT place, asin, row_number() OVER (
           PARTITION BY asin ORDER BY coalesce(TRY_CAST(replace(vote, ',', '') AS BIGINT), 0) DESC, place) AS standing
  FROM review_rows SEMI JOIN products USING (asin))
WHERE standing <= getvariable('reviews')::BIGINT;
CREATE TABLE question_rows AS
SELECT * FROM (SELECT file::BIGINT AS file, line::BIGINT AS line, unnest(json_transform(json, '{
  "asin": "VARCHAR", "question": "VARCHAR", "answer": "VARCHAR"}')) FROM questions)
SEMI JOIN products USING (asin)
QUALIFY row_number() OVER (PARTITION BY asin ORDER BY file, line) <= getvariable('reviews')::BIGINT;

CREATE TABLE texts AS
SELECT 'product' AS type, key, field, text FROM (
  SELECT asin AS key, 'features' AS field, clean(unnest(texts_of(feature))) AS text FROM products
  UNION ALL SELECT asin, 'details', concat_ws(' ', clean(detail.key), clean(detail.value))
            FROM (SELECT asin, unnest(map_entries(details)) AS detail FROM products))
WHERE text NOT ILIKE '%asin%'
UNION ALL SELECT 'product', asin, 'description', clean(unnest(texts_of(description))) FROM products
UNION ALL (SELECT 'product', asin, 'reviews', concat_ws(E'\n', clean(summary), clean(reviewText))
           FROM review_rows JOIN best_reviews USING (place, asin) ORDER BY asin, standing)
UNION ALL (SELECT 'product', asin, 'questions', concat_ws(E'\n', clean(question), clean(answer))
           FROM question_rows ORDER BY file, line);

CREATE TABLE candidate_types AS SELECT 'product' AS type;
