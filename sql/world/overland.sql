-- A route from one country to another across the fewest borders.
-- One row per country of the route, no row if there is no route by land. Of several shortest routes, one is returned.
-- $a (node, default country#PRT): start
-- $b (node, default country#CHN): where it ends

WITH RECURSIVE reached(id, previous, borders_crossed) USING KEY (id) AS (
  SELECT $a::INTEGER, NULL::INTEGER, 0
  UNION
  SELECT b.tail, min(b.head), r.borders_crossed + 1
  FROM reached r JOIN borders b ON b.head = r.id
  WHERE b.tail NOT IN (SELECT id FROM recurring.reached)
  GROUP BY b.tail, r.borders_crossed
), way AS (
  SELECT * FROM reached WHERE id = $b
  UNION ALL SELECT r.* FROM way JOIN reached r ON r.id = way.previous
)
SELECT borders_crossed, key, name
FROM way JOIN country USING (id)
ORDER BY borders_crossed;
