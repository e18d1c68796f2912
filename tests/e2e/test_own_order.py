"""An order of the program's own over any source: spdl.open(spec, sampler=...). What comes is what it says, and what is no order is told."""

import pytest
from engines import ROOT, describe
from test_own_source import program

ORDER = """
        class Order:
            # every third sample, from another on in each epoch, and the first of them again at the end
            def __init__(self, epochs=99):
                self.asked = 0
            def __iter__(self):
                begin, self.asked = self.asked % 3, self.asked + 1
                yield from range(begin, len(paths), 3)
                yield begin
            def __len__(self):
                return len(paths) // 3 + 1
        def told(epoch):
            return [*range(epoch % 3, len(paths), 3), epoch % 3]
        description["source"] = {"folder": str(root)}
        description.pop("order", None)
        def written(more):
            at = root.parent / "written.json"
            at.write_text(json.dumps({**description, **more}))
            return at
"""


def test_batches_are_the_samplers(pictures):
    """Index, label, key and pixels, in three epochs, the third by acquire(); len() is of its own length, and no thread is left."""
    out, err = program(ORDER + """
        with spdl.open({**description, "order": {"shuffle": False, "epochs": 1}}) as loader:
            one = {b["index"][row].item(): (b["label"][row].item(), b.sample_keys[row], int(b["image"][row].sum())) for b in loader for row in range(b.rows)}
        with spdl.open(description, sampler=Order()) as loader:
            length, seen = len(loader), []
            for epoch in range(2):
                seen.append([(b["index"][row].item(), b["label"][row].item(), b.sample_keys[row], int(b["image"][row].sum())) for b in loader for row in range(b.rows)])
            third = []
            while (batch := loader.acquire(30)) is not None:
                with batch:
                    third += batch["index"].tolist()
        print([[n for n, *_ in epoch] for epoch in seen] == [told(0), told(1)], third == told(2), all(one[n] == tuple(rest) for epoch in seen for n, *rest in epoch),
              length == -(-(len(paths) // 3 + 1) // 4), settled())
    """, describe(pictures.path))
    assert (out, err) == ("True True True True 0\n", "")


def test_a_run_goes_on_where_its_state_was_taken_in_the_same_order_alone(pictures):
    out, err = program(ORDER + """
        import itertools
        def numbers(loader):
            return [b["index"].tolist() for b in loader]
        class Seeded(Order):
            def __iter__(self):
                return iter(told(self.epoch))
            def set_epoch(self, epoch):
                self.epoch = epoch
        def opened(**more):
            sampler = Seeded()
            sampler.set_epoch(0)
            return sampler, spdl.open(description, sampler=sampler, **more)
        sampler, loader = opened()
        with loader:
            whole, states = [], []
            for epoch in range(2):
                sampler.set_epoch(epoch)
                for batch in loader:
                    whole.append((epoch, batch["index"].tolist()))
                    states.append(loader.state_dict())
        good = 0
        for at, state in enumerate(states):
            sampler, loader = opened(state=state)
            with loader:
                rest = []
                for epoch in range(loader.epoch, 2):
                    sampler.set_epoch(epoch)
                    rest += [(epoch, one) for one in numbers(loader)]
            good += rest == whole[at + 1:]
        print(good == len(states), good)
        sampler, loader = opened(state=states[0])
        sampler.set_epoch(1)
        with loader:
            try:
                numbers(loader)
            except spdl.StateError as error:
                print(error)
        sampler, loader = opened()
        with loader:
            loader.load_state_dict(states[0])
            print(numbers(loader) == [one for epoch, one in whole if epoch == 0][1:])
    """, describe(pictures.path))
    good, refused, again = out.splitlines()
    assert good.startswith("True") and int(good.split()[1]) > 3 and again == "True"
    assert refused.startswith("spdl: open: state: Seeded gives another order of the first ") and refused.endswith("and sampler.set_epoch(epoch) before the loop")


def test_what_a_sampler_raises_and_what_is_no_number_is_raised_by_the_loop(pictures):
    out, err = program(ORDER + """
        def fails():
            yield 3
            raise ZeroDivisionError("of its own")
        class Once:
            def __init__(self, *rows): self.rows = rows
            def __iter__(self): return iter(self.rows)
        class Fails:
            __iter__ = lambda self: fails()
        for sampler in (Once(1, len(paths)), Once(1, "a"), Once(), Fails(), fails()):
            with spdl.open(description, sampler=sampler) as loader:
                try:
                    list(loader)
                except BaseException as error:
                    print(f"{type(error).__name__}: {error}".replace(str(len(paths)), "N").replace(str(len(paths) - 1), "N-1"))
        print(settled())
    """, describe(pictures.path))
    assert out.splitlines() == [
        "ArgumentError: spdl: open: sampler: Once gave N at 1, want numbers of samples, whole ones from 0 to N-1",
        "ArgumentError: spdl: open: sampler: Once gave 'a' at 1, want numbers of samples, whole ones from 0 to N-1",
        "ArgumentError: spdl: open: sampler: Once gave nothing in epoch 0, want one sample at least",
        "ZeroDivisionError: of its own", "ZeroDivisionError: of its own", "0"]


def test_an_iterator_is_one_epoch(pictures):
    out, err = program(ORDER + """
        with spdl.open(description, sampler=iter([2, 0, 1])) as loader:
            print([b["index"].tolist() for b in loader])
            try:
                len(loader)
            except TypeError as error:
                print(error)
        with spdl.DataLoader(description, sampler=[4, 2], fields=["index"], tensors="numpy") as loader:
            print([index.tolist() for index, in loader], [index.tolist() for index, in loader], len(loader), loader)
    """, describe(pictures.path))
    first, error, lists = out.splitlines()
    assert first == "[[2, 0, 1]]" and "has no len()" in error
    assert lists.startswith("[[4, 2]] [[4, 2]] 1 <spdl.DataLoader of <spdl.Loader ") and lists.endswith("in an order of one's own>>")


@pytest.mark.parametrize("call, message", [
    ("spdl.open(description, sampler=5)", "ArgumentError: spdl: open: sampler is a int, want an object whose __iter__ gives numbers of samples, as torch's samplers do"),
    ("spdl.open(description, sampler='abc')", "ArgumentError: spdl: open: sampler is a str, want"),
    ("spdl.open(description, sampler=Order(), source=Files())", "ArgumentError: spdl: open: got sampler= beside source=, whose samples are yours; bring them in that order, as an iterable"),
    ("spdl.open({**description, 'order': {'shuffle': True}}, sampler=Order())", "SpecError: spdl: open: order.shuffle: the order is the sampler's; leave it out"),
    ("spdl.open({**description, 'order': {'asked': False}}, sampler=Order())", "SpecError: spdl: open: order.asked: the order is the sampler's; leave it out"),
    ("spdl.open({**description, 'order': {'epochs': 2}}, sampler=iter([1]))", "ArgumentError: spdl: open: sampler is a list_iterator, which can be gone through once, and order.epochs is 2"),
    ("spdl.open({**description, 'rings': {'a': {}}}, sampler=Order())", "SpecError: spdl: open: the description has several rings, and sampler= is the order of the one that it opens"),
    ("spdl.open({**description, 'order': {'balance': 'label'}}, sampler=Order())", "order.balance: given with order.asked, where your program says which sample comes next; leave one of the two out"),
    ("spdl.open(written({'order': {'shuffle': False}}), sampler=Order())", "ArgumentError: spdl: open: sampler is given, and the description's order is not asked for; want order: {asked: true} in it"),
    ("spdl.open(str(root), sampler=Order(), args=['--shuffle'])", "order.shuffle: got true with order.asked, where your program says which sample comes next"),
    ("spdl.open(str(root), sampler=5)", "ArgumentError: spdl: open: sampler is a int, want an object"),
    ("spdl.open({**description, 'order': {'asked': True}})", "order.asked: no program around this engine says which samples come, or another ring has it already"),
    ("spdl.open(description, sampler=Order(), share=True)", "ArgumentError: spdl: open: share=True and sampler=: what this program says cannot reach another's engine; leave share out"),
])
def test_what_cannot_be_is_refused_by_name(pictures, call, message):
    out, err = program(ORDER + f"""
        try:
            {call}.close()
        except spdl.SpdlError as error:
            print(f"{{type(error).__name__}}: {{error}}")
    """, describe(pictures.path))
    assert message in out


def test_a_description_in_a_file_says_that_it_is_asked_for(pictures, tmp_path):
    out, err = program(ORDER + f"""
        at = pathlib.Path({str(tmp_path)!r}) / "asked.json"
        at.write_text(json.dumps({{**description, "order": {{"asked": True}}}}))
        with spdl.open(at, sampler=Order()) as loader:
            print([n for b in loader for n in b["index"].tolist()] == told(0))
    """, describe(pictures.path))
    assert (out, err) == ("True\n", "")


def test_a_folder_and_shards_by_their_paths(pictures, tmp_path):
    """They need no description for an order of the program's own."""
    out, err = program(ORDER + f"""
        import tarfile
        shard = pathlib.Path({str(tmp_path)!r}) / "a.tar"
        with tarfile.open(shard, "w") as tar:
            for n, path in enumerate(paths):
                tar.add(path, f"{{n:06d}}.jpg")
        for place, known in ((root, range(len(paths))), (str(root), range(len(paths))), (shard, range(len(paths)))):
            with spdl.open(place, sampler=Order(), args=["--size", "16", "--batch", "4"]) as loader:
                print([[n for b in loader for n in b["index"].tolist()] == told(epoch) for epoch in range(2)], loader.info.samples == len(paths))
            with spdl.open(place, sampler=[3, 3, 1], args=["--size", "16"]) as loader:
                print([b["index"].tolist() for b in loader], len(loader))
        print(settled())
    """, describe(pictures.path))
    assert (out, err) == ("[True, True] True\n[[3, 3, 1]] 1\n" * 3 + "0\n", "")


def test_under_torchrun_an_order_is_each_ranks_own(pictures):
    out, err = program(ORDER + """
        os.environ.update(RANK="1", WORLD_SIZE="2", LOCAL_RANK="1", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29512")
        with spdl.open(description, sampler=Order()) as loader:
            print([n for b in loader for n in b["index"].tolist()] == told(0), loader.info.world_size)
    """, describe(pictures.path))
    assert (out, err) == ("True 1\n", "")


def test_leaving_in_the_middle_leaves_no_thread(pictures):
    """Also where nobody has begun an epoch, whose order the engine waits for."""
    out, err = program(ORDER + """
        for looked in (0, 1, 2):
            with spdl.open({**description, "batch": 1}, sampler=Order()) as loader:
                for _ in range(looked):
                    loader.acquire(30).release()
            loader = spdl.open({**description, "batch": 1}, sampler=Order())
            if looked:
                next(iter(loader))
            del loader
        print(settled())
    """, describe(pictures.path))
    assert (out, err) == ("0\n", "")


def test_the_pages_program_runs(pictures):
    """docs/order.md's, with losses by which the second epoch has the larger half."""
    page = (ROOT / "docs/order.md").read_text(encoding="utf-8")
    block = page.split("## An order of your own")[1].split("```")[1].removeprefix("python")
    script = block.replace('"train"', "str(root)").replace('"batch": 8', '"batch": 4')
    out, err = program(ORDER + "        seen = []\n" + """
        def losses_of(images, labels):
            seen.append(len(labels))
            return -numpy.arange(len(seen), len(seen) + len(labels))
""" + "".join(f"        {line}\n" for line in script.splitlines()) + """
        print(sum(seen) == 3 * ((len(paths) + 1) // 2), int(numpy.isinf(sampler.losses).sum()))
    """, describe(pictures.path))
    assert (out, err) == ("True 0\n", "")
