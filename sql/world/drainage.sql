-- The rivers that drain into a sea, directly or through other rivers.
-- Includes tributaries of tributaries and parts of the sea: the Black Sea has the rivers of the Sea of Azov.
-- Rivers that flow into a lake are not followed further.
-- $sea (node, default sea#black-sea): a sea, gulf, bay or ocean

WITH RECURSIVE water(id) AS (
  SELECT $sea::INTEGER
  UNION SELECT p.head FROM water JOIN part_of p ON p.tail = water.id
), basin(id, via, steps) AS (
  SELECT f.head, w.id, 1 FROM water w JOIN flows_into f ON f.tail = w.id
  UNION SELECT f.head, b.id, b.steps + 1 FROM basin b JOIN flows_into f ON f.tail = b.id
)
SELECT r.key, r.name, r.length_km, v.name AS flows_into, b.steps
FROM basin b JOIN river r USING (id) JOIN nodes v ON v.id = b.via
ORDER BY steps, length_km DESC, r.name;
