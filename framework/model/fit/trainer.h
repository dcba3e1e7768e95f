#pragma once

#include "cohort/model/fit/program.h"
#include "cohort/model/model.h"

// The one loop behind fit, evaluate and predict.
namespace cohort::trainer {

History fit(Model& model, DataArgument data, const FitOptions& options);
// Figures sorted by name, as fit's logs.
Logs evaluate(Model& model, const DataArgument& data, const EvaluateOptions& options);
Element predict(Model& model, const DataArgument& data, const PredictOptions& options);

}  // namespace cohort::trainer
