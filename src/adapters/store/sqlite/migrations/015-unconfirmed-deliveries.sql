-- Deliveries of one target that may not have arrived, for the notice to the person there. An ordinary delivery writes none of them.
CREATE INDEX deliveries_unconfirmed ON deliveries (target, n) WHERE state = 'unconfirmed';
