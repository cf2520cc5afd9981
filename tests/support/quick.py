"""Settings with which runs on toy-table take a moment."""

QUICK = {
    "train.target_epochs": 1,
    "train.bias_epochs": 1,
    "train.estimator_epochs": 1,
    "train.epochs": 1,
    "train.batch_size": 16,
    "data.rows": 32,
    "inner_steps": 2,
}
