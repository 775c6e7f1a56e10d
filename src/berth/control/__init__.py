"""The loop: admit, place, bind, observe, reconcile, reclaim, label; each loads, asks its pure twin, and applies."""
