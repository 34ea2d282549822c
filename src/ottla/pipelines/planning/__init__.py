"""From definitions to stages: where they are cut, what they are called, whether new code fits.

Pure: no Spark, no broker, no files.
"""
