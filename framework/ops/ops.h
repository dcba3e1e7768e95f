#pragma once

// All ops.

#include "cohort/ops/array.h"
#include "cohort/ops/attention.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/debug.h"
#include "cohort/ops/einsum.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/nn.h"
#include "cohort/ops/pooling.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/recurrent.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"
#include "cohort/ops/sorting.h"
