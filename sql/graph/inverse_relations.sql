-- Relations whose edges are the reverse of another relation, or of themselves.
-- Share is the fraction of the relation's edges that the other relation has reversed. Near 1, the relations are
-- redundant, and a link prediction test that splits them leaks its answers. A relation that is its own reverse is
-- symmetric. Edges from a node to itself are ignored.

WITH triple AS (SELECT DISTINCT head, relation, tail FROM edges WHERE head <> tail),
     total AS (SELECT relation, count(*) AS edges FROM triple GROUP BY relation)
SELECT a.relation, b.relation AS reverse, count(*) AS mirrored, round(count(*) / any_value(t.edges), 4) AS share
FROM triple a JOIN triple b ON b.head = a.tail AND b.tail = a.head JOIN total t ON t.relation = a.relation
GROUP BY ALL
ORDER BY share DESC, mirrored DESC, a.relation, b.relation;
