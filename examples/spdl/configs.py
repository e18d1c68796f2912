"""A pipeline as plain data: two inputs, each with its own stages, taken in turn."""

from spdl.pipeline import build_pipeline, is_eof
from spdl.pipeline.defs import Aggregate, Disaggregate, Merge, Pipe, PipelineConfig, SinkConfig, SourceConfig


def square(x):
    return x * x


async def in_turn(info, inputs, output):
    active = list(inputs)
    while active:
        for queue in list(active):
            item = await queue.get()
            if is_eof(item):
                active.remove(queue)
            else:
                await output.put(item)


def one_input(start, stop):
    return PipelineConfig(
        src=SourceConfig(range(start, stop)),
        pipes=[Pipe(square), Aggregate(2), Disaggregate()],
        sink=SinkConfig(2),
    )


def main():
    config = PipelineConfig(
        src=Merge([one_input(0, 5), one_input(10, 13)], op=in_turn),
        pipes=[Pipe({n * n: f"{n}^2" for n in range(20)}), Aggregate(3)],
        sink=SinkConfig(3),
    )
    pipeline = build_pipeline(config, num_threads=4)
    with pipeline.auto_stop():
        for batch in pipeline:
            print(batch)


if __name__ == "__main__":
    main()
