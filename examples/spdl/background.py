"""The whole pipeline in a process of its own, so that this one's interpreter is free."""

import random

from spdl.pipeline import PipelineBuilder, run_pipeline_in_subprocess


def draw(number):
    return number, random.random()


def main():
    random.seed(11)
    config = (
        PipelineBuilder()
        .add_source(range(6))
        .pipe(draw, output_order="input")
        .aggregate(2)
        .add_sink(3)
        .get_config()
    )
    source = run_pipeline_in_subprocess(config, num_threads=2, buffer_size=2)
    for epoch in range(2):
        for batch in source:
            print(epoch, [(number, round(value, 6)) for number, value in batch])


if __name__ == "__main__":
    main()
