#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes made-up daily sales with holidays and prices as CSV: python3 experiments/make_sales.py > data/sales.csv

Holidays come by chance, so no past sales tell of them, but the file says them for two weeks beyond its last sales, as a
calendar and a price list would. The best forecast is known: all but a noise of deviation 0.5 is certain for a model that
knows the weekday, the holidays and the prices of the days to come, so the least RMSE is 0.5. Without them it is 4.0.
"""
import argparse
import datetime
import math
import random

DAYS_AHEAD = 14
WEEKDAYS = (0, 1, 2, 2, 4, 8, 5)
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--days", type=int, default=3000, help="days with sales (3000)")
arguments = parser.parse_args()

random.seed(1)
print("day,sales,holiday,price")
for number in range(arguments.days + DAYS_AHEAD):
    day = datetime.date(2016, 1, 1) + datetime.timedelta(days=number)
    holiday = int(random.random() < 0.1)
    price = round(random.uniform(1, 3), 2)
    month = 2 * math.sin(2 * math.pi * (day.month - 1) / 12)
    sales = 20 + WEEKDAYS[day.weekday()] + month - 8 * holiday - 5.5 * (price - 2) + random.gauss(0, 0.5)
    print(f"{day},{round(sales, 2) if number < arguments.days else ''},{holiday},{price}")
