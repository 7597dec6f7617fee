enum psim_violation { PSIM_VIOLATION };
