-- Which of these endpoints are revoked or have expired.
SELECT e.id::text
FROM endpoints e
WHERE e.id = ANY (%(endpoints)s::uuid[]) AND NOT {{active}}
