-- Which products like <product> come in <color>?
-- STaRK A.2.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $color (node of color): <color>, by name or key
-- $product (node of product): <product>, by name or key
--
-- (color:<color> -> product <- [also_buy|also_view] <- product:<product>) - product:<product>
WITH color_1 AS (
  SELECT id FROM color WHERE id = $color
),
product_1 AS (
  SELECT DISTINCT head AS id FROM has_color WHERE tail IN (SELECT id FROM color_1)
),
product_2 AS (
  SELECT id FROM product WHERE id = $product
),
product_3 AS (
  SELECT tail AS id FROM also_buy WHERE head IN (SELECT id FROM product_2)
  UNION SELECT tail AS id FROM also_view WHERE head IN (SELECT id FROM product_2)
),
product_4 AS (
  SELECT id FROM product_1 WHERE id IN (SELECT id FROM product_3)
),
product_5 AS (
  SELECT l.id FROM product_4 l ANTI JOIN product_2 r ON r.id = l.id
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_5)
ORDER BY id
