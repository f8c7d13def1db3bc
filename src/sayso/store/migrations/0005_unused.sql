-- Denials and what was sent lately live in the sealed row of their session; nothing reads these tables.

DROP TABLE denials;
DROP TABLE sendings;
