-- Which products by <brand> come in <color>?
-- Printed as (color → product ← brand) in STaRK A.2.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $color (node of color): <color>, by name or key
-- $brand (node of brand): <brand>, by name or key
--
-- color:<color> -> product <- brand:<brand>
WITH color_1 AS (
  SELECT id FROM color WHERE id = $color
),
product_1 AS (
  SELECT DISTINCT head AS id FROM has_color WHERE tail IN (SELECT id FROM color_1)
),
brand_1 AS (
  SELECT id FROM brand WHERE id = $brand
),
product_2 AS (
  SELECT DISTINCT head AS id FROM has_brand WHERE tail IN (SELECT id FROM brand_1)
),
product_3 AS (
  SELECT id FROM product_1 WHERE id IN (SELECT id FROM product_2)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_3)
ORDER BY id
