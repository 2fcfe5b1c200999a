-- The members of an organisation, by the year they joined.
-- $organisation (node, default organisation#eu): the organisation

SELECT since, count(*) AS joined, string_agg(c.name, ', ' ORDER BY c.name) AS members
FROM member_of m JOIN country c ON c.id = m.head
WHERE m.tail = $organisation
GROUP BY since
ORDER BY since NULLS LAST;
