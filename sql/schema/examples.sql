-- An example edge of each relation and pair of types.

SELECT DISTINCT ON (h.type, e.relation, t.type)
       h.type AS head_type, h.name AS head, e.relation, t.name AS tail, t.type AS tail_type
FROM edges e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail
ORDER BY e.relation, h.type, t.type, e.head, e.tail;
