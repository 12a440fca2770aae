#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes made-up daily sales with holidays and prices as CSV: python3 experiments/make_sales.py > data/sales.csv

Holidays come by chance, so no past sales tell of them, but the file says them for two weeks beyond its last sales, as a
calendar and a price list would. The best forecast is known: all but a noise of deviation 0.5 is certain for a model that
knows the weekday, the holidays and the prices of the days to come, so the least RMSE is 0.5. Without them it is 4.0.
With --stores N the file has N series, with the level, the holidays and the prices of each, and a first column `store`.
"""
import argparse
import datetime
import math
import random

DAYS_AHEAD = 14
WEEKDAYS = (0, 1, 2, 2, 4, 8, 5)
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--days", type=int, default=3000, help="days with sales (3000)")
parser.add_argument("--stores", type=int, help="series in one file, told apart by a column `store`")
arguments = parser.parse_args()


def print_rows(begin, level):
    """Prints the days of one store; each row begins with `begin`."""
    for number in range(arguments.days + DAYS_AHEAD):
        day = datetime.date(2016, 1, 1) + datetime.timedelta(days=number)
        holiday = int(random.random() < 0.1)
        price = round(random.uniform(1, 3), 2)
        month = 2 * math.sin(2 * math.pi * (day.month - 1) / 12)
        sales = level + WEEKDAYS[day.weekday()] + month - 8 * holiday - 5.5 * (price - 2) + random.gauss(0, 0.5)
        print(f"{begin}{day},{round(sales, 2) if number < arguments.days else ''},{holiday},{price}")


random.seed(1)
if not arguments.stores:
    print("day,sales,holiday,price")
    print_rows("", 20)
else:
    print("store,day,sales,holiday,price")
    for store in range(arguments.stores):
        print_rows(f"store{store + 1},", 20 + 10 * store)
