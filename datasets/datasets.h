#pragma once

// Everything of datasets/ that programs name.
#include "cohort/data/dataset.h"
#include "cohort/data/dataset_creator.h"
#include "cohort/data/input_context.h"
#include "cohort/datasets/builtin/fashion_mnist.h"
#include "cohort/datasets/builtin/idx_file.h"
#include "cohort/datasets/sources/range.h"
#include "cohort/datasets/sources/tensor_slices.h"
