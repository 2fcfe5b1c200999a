-- The countries where a language is official or national, with its status.
-- $language (node, default language#por): the language

SELECT c.key, c.name, s.status,
       (SELECT string_agg(t.name, ', ' ORDER BY t.name) FROM in_continent i JOIN continent t ON t.id = i.tail
        WHERE i.head = c.id) AS continents
FROM speaks s JOIN country c ON c.id = s.head
WHERE s.tail = $language
ORDER BY c.name, s.status;
