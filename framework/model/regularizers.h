#pragma once

#include "cohort/model/regularizers/l1_l2.h"
#include "cohort/model/regularizers/orthogonal.h"
