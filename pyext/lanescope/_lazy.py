# SPDX-License-Identifier: BSD-3-Clause
import collections.abc


class Lazy(collections.abc.Mapping):
    """A read-only dict whose values are made when they are first asked for, and kept."""

    def __init__(self, keys, build):
        self._values = dict.fromkeys(keys)
        self._build = build

    def __getitem__(self, key):
        value = self._values[key]
        if value is None:
            value = self._values[key] = self._build(key)
        return value

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __repr__(self):
        return f"<{len(self)} values: {', '.join(map(repr, list(self)[:8]))}{', …' if len(self) > 8 else ''}>"
