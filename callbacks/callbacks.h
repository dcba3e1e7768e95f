#pragma once

#include "cohort/callbacks/backup_and_restore.h"
#include "cohort/callbacks/csv_logger.h"
#include "cohort/callbacks/early_stopping.h"
#include "cohort/callbacks/lambda_callback.h"
#include "cohort/callbacks/learning_rate_scheduler.h"
#include "cohort/callbacks/model_checkpoint.h"
#include "cohort/callbacks/progbar_logger.h"
#include "cohort/callbacks/reduce_lr_on_plateau.h"
#include "cohort/callbacks/swap_ema_weights.h"
#include "cohort/callbacks/tensorboard.h"
#include "cohort/callbacks/terminate_on_nan.h"
#include "cohort/callbacks/throughput.h"
