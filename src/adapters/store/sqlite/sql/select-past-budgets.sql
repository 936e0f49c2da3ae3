SELECT key FROM budgets
WHERE (key >= 'day:' AND key < 'day;' OR key >= 'person:' AND key < 'person;')
  AND at < ? AND reserved_tokens = 0 AND reserved_micros = 0
