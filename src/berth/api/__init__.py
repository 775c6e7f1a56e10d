"""The HTTP API: a thin front that proves who asks, routes that call control, and the objects promised."""
