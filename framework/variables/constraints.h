#pragma once

#include "cohort/variables/constraints/non_neg.h"
#include "cohort/variables/constraints/norm.h"
