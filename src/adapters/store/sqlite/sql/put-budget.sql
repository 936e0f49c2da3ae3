INSERT INTO budgets (
  key, spent_tokens, spent_micros, reserved_tokens, reserved_micros,
  lifted_tokens, lifted_micros, estimated_tokens, estimated_micros, at
)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
  spent_tokens = excluded.spent_tokens,
  spent_micros = excluded.spent_micros,
  reserved_tokens = excluded.reserved_tokens,
  reserved_micros = excluded.reserved_micros,
  lifted_tokens = excluded.lifted_tokens,
  lifted_micros = excluded.lifted_micros,
  estimated_tokens = excluded.estimated_tokens,
  estimated_micros = excluded.estimated_micros,
  at = excluded.at
