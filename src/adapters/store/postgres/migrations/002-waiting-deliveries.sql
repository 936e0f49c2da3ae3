-- Deliveries that no connector sends: those in a mailbox, and those without a route. Both indexes hold only such rows, so an
-- ordinary delivery writes none of them.
CREATE INDEX deliveries_waiting ON deliveries (n) WHERE state IN ('waiting-reader', 'unroutable');
CREATE INDEX deliveries_mailbox ON deliveries (target, n) WHERE state = 'waiting-reader';
