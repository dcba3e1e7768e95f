#pragma once

#include "cohort/optimizers/adagrad.h"
#include "cohort/optimizers/adam.h"
#include "cohort/optimizers/adamax.h"
#include "cohort/optimizers/adamw.h"
#include "cohort/optimizers/rmsprop.h"
#include "cohort/optimizers/schedules/cosine_decay.h"
#include "cohort/optimizers/schedules/cosine_decay_restarts.h"
#include "cohort/optimizers/schedules/exponential_decay.h"
#include "cohort/optimizers/schedules/inverse_time_decay.h"
#include "cohort/optimizers/schedules/piecewise_constant_decay.h"
#include "cohort/optimizers/schedules/polynomial_decay.h"
#include "cohort/optimizers/sgd.h"
