#pragma once

// One name out of two, their macros expanded: COHORT_CONCAT(registered_, __COUNTER__).
#define COHORT_CONCAT_INNER(a, b) a##b
#define COHORT_CONCAT(a, b) COHORT_CONCAT_INNER(a, b)
