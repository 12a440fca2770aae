#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a made-up hourly weather series as CSV: python3 experiments/make_series.py > data/series.csv

The best forecast is known: the weather is 0.98 of its value an hour before and noise of deviation 0.4, and all else is
certain. So the least RMSE of the temperature after h hours is 0.4 sqrt((1 - 0.98^2h) / (1 - 0.98^2)): 0.400 after one
hour, 0.933 after six and 1.58 after 24. A model reaches it on a long series without seasons of the year.
"""
import argparse
import math
import random

HOURS_OF_YEAR = 24 * 365
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--hours", type=int, default=HOURS_OF_YEAR, help="rows of the series (8760)")
parser.add_argument("--without-year", action="store_true", help="no wave of the year, and no missing values")
arguments = parser.parse_args()

random.seed(1)
print("hour,temperature,pressure")
weather = 0.0
for hour in range(arguments.hours):
    weather = 0.98 * weather + random.gauss(0, 0.4)
    day = math.sin(2 * math.pi * hour / 24)
    year = 0 if arguments.without_year else math.sin(2 * math.pi * hour / HOURS_OF_YEAR)
    temperature = 12 + 9 * year + 4 * day + weather
    pressure = 1013 - 1.5 * weather + random.gauss(0, 0.5)
    missing = random.random() < 0.002 and not arguments.without_year
    print(f"{hour},{'' if missing else round(temperature, 2)},{round(pressure, 2)}")
