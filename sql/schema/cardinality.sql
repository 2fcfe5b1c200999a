-- Cardinality of each relation: one to one, one to many, many to one or many to many.
-- "Many" is a mean above 1.5, as in Bordes et al. 2013 (TransE), section 4.2; most_tails is the maximum of any head.

WITH triple AS (SELECT DISTINCT head, relation, tail FROM edges),
     per_head AS (SELECT relation, avg(n) AS mean, max(n) AS most
                  FROM (SELECT relation, count(*) AS n FROM triple GROUP BY relation, head) GROUP BY relation),
     per_tail AS (SELECT relation, avg(n) AS mean, max(n) AS most
                  FROM (SELECT relation, count(*) AS n FROM triple GROUP BY relation, tail) GROUP BY relation)
SELECT relation,
       if(t.mean > 1.5, 'many', 'one') || ' to ' || if(h.mean > 1.5, 'many', 'one') AS cardinality,
       round(h.mean, 2) AS tails_per_head, h.most AS most_tails,
       round(t.mean, 2) AS heads_per_tail, t.most AS most_heads
FROM per_head h JOIN per_tail t USING (relation)
ORDER BY relation;
