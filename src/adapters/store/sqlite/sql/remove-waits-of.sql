DELETE FROM waits WHERE waiter = ?
