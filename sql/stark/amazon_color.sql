-- Which products come in <color>?
-- Printed as (color → product) in STaRK A.2.
-- Generated from the catalogue of templates by python -m tests.generate.template_queries.
-- $color (node of color): <color>, by name or key
--
-- color:<color> -> product
WITH color_1 AS (
  SELECT id FROM color WHERE id = $color
),
product_1 AS (
  SELECT DISTINCT head AS id FROM has_color WHERE tail IN (SELECT id FROM color_1)
)
SELECT id, type, key, name
FROM nodes
WHERE id IN (SELECT id FROM product_1)
ORDER BY id
