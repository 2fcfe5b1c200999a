-- How to get from one country to another over the fewest borders.
-- One row per country on the way; no row where there is no way by land. Of equally short ways one is shown.
-- $a (node, default country#PRT): where it starts
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
