-- Which products belong to the category <category>?
-- Printed as (category → product) in STaRK A.2.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $category (node of category): <category>, by name or key
--
-- category:<category> -> product
WITH category_1 AS (
  SELECT id FROM category WHERE id = $category
),
product_1 AS (
  SELECT DISTINCT head AS id FROM has_category WHERE tail IN (SELECT id FROM category_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_1)
ORDER BY id
