#pragma once

#include "cohort/variables/initializers/constant.h"
#include "cohort/variables/initializers/orthogonal.h"
#include "cohort/variables/initializers/random.h"
#include "cohort/variables/initializers/stft.h"
#include "cohort/variables/initializers/variance_scaling.h"
