-- Which products in the category <category> are like <product> and come in <color>?
-- STaRK A.2.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $product (node of product): <product>, by name or key
-- $color (node of color): <color>, by name or key
-- $category (node of category): <category>, by name or key
--
-- ((product:<product> -> [also_buy|also_view] -> product) & (color:<color> -> product) & (category:<category> ->
-- product)) - product:<product>
WITH product_1 AS (
  SELECT id FROM product WHERE id = $product
),
product_2 AS (
  SELECT tail AS id FROM also_buy WHERE head IN (SELECT id FROM product_1)
  UNION SELECT tail AS id FROM also_view WHERE head IN (SELECT id FROM product_1)
),
color_1 AS (
  SELECT id FROM color WHERE id = $color
),
product_3 AS (
  SELECT DISTINCT head AS id FROM has_color WHERE tail IN (SELECT id FROM color_1)
),
category_1 AS (
  SELECT id FROM category WHERE id = $category
),
product_4 AS (
  SELECT DISTINCT head AS id FROM has_category WHERE tail IN (SELECT id FROM category_1)
),
product_5 AS (
  SELECT id FROM product_2 WHERE id IN (SELECT id FROM product_3)
    AND id IN (SELECT id FROM product_4)
),
product_6 AS (
  SELECT l.id FROM product_5 l ANTI JOIN product_1 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_6)
ORDER BY id
