-- Which products by <brand> are like <product> and come in <color>?
-- STaRK A.2.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $brand (node of brand): <brand>, by name or key
-- $product (node of product): <product>, by name or key
-- $color (node of color): <color>, by name or key
--
-- ((brand:<brand> -> product) & (product:<product> -> [also_buy|also_view] -> product) & (color:<color> -> product))
-- - product:<product>
WITH brand_1 AS (
  SELECT id FROM brand WHERE id = $brand
),
product_1 AS (
  SELECT DISTINCT head AS id FROM has_brand WHERE tail IN (SELECT id FROM brand_1)
),
product_2 AS (
  SELECT id FROM product WHERE id = $product
),
product_3 AS (
  SELECT tail AS id FROM also_buy WHERE head IN (SELECT id FROM product_2)
  UNION SELECT tail AS id FROM also_view WHERE head IN (SELECT id FROM product_2)
),
color_1 AS (
  SELECT id FROM color WHERE id = $color
),
product_4 AS (
  SELECT DISTINCT head AS id FROM has_color WHERE tail IN (SELECT id FROM color_1)
),
product_5 AS (
  SELECT id FROM product_1 WHERE id IN (SELECT id FROM product_3)
    AND id IN (SELECT id FROM product_4)
),
product_6 AS (
  SELECT l.id FROM product_5 l ANTI JOIN product_2 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_6)
ORDER BY id
