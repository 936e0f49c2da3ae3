UPDATE agents SET descriptor = ? WHERE no = ?
