-- Which products in the category <category> come in <color>?
-- STaRK A.2.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $color (node of color): <color>, by name or key
-- $category (node of category): <category>, by name or key
--
-- color:<color> -> product <- category:<category>
WITH color_1 AS (
  SELECT id FROM color WHERE id = $color
),
product_1 AS (
  SELECT DISTINCT head AS id FROM has_color WHERE tail IN (SELECT id FROM color_1)
),
category_1 AS (
  SELECT id FROM category WHERE id = $category
),
product_2 AS (
  SELECT DISTINCT head AS id FROM has_category WHERE tail IN (SELECT id FROM category_1)
),
product_3 AS (
  SELECT id FROM product_1 WHERE id IN (SELECT id FROM product_2)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_3)
ORDER BY id
