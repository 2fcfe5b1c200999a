-- Neighbouring countries without a common official or national language.
-- Each pair is listed once.

SELECT a.name AS country, b.name AS neighbour,
       (SELECT string_agg(l.name, ', ' ORDER BY l.name) FROM speaks s JOIN language l ON l.id = s.tail
        WHERE s.head = a.id) AS speaks,
       (SELECT string_agg(l.name, ', ' ORDER BY l.name) FROM speaks s JOIN language l ON l.id = s.tail
        WHERE s.head = b.id) AS neighbour_speaks
FROM borders e JOIN country a ON a.id = e.head JOIN country b ON b.id = e.tail
WHERE a.id < b.id
  AND NOT EXISTS (SELECT 1 FROM speaks x JOIN speaks y USING (tail) WHERE x.head = a.id AND y.head = b.id)
ORDER BY country, neighbour;
